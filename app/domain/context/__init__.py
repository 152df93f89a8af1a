"""Fitting a conversation and its document into a token budget."""
