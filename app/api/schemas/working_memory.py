"""What a client sends to put a section right."""

from app.api.schemas.fields import Body, TelemetryWish


class CorrectSection(Body):
    """The whole new text of one section."""

    content: str
    telemetry: TelemetryWish = None
