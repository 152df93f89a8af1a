"""Large outputs and inputs of tools: kept in full beside their message, which shows a preview."""
