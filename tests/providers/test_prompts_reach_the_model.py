"""The prompts as rendered, sent to a model over HTTP: what the model reads in them and what comes back."""

from app.domain.prompts import Prompt
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.operations import Append, Update
from app.domain.working_memory.sections import SECTIONS, Section
from app.domain.working_memory.sizes import Size
from app.prompts.working_memory import render_creation, render_update
from app.providers.openai_compatible import OpenAICompatibleModel
from app.providers.ports import ToolRequest
from tests.support.model_requests import conversation, create_request, update_request
from tests.support.model_server import ModelServer

MESSAGES = conversation(
    ("Ana", "We moved the tide tables to harbour/tides.py."), ("assistant", "Is port 5433 free?"), ("Ana", "Yes.")
)


def _with_prompt(request: ToolRequest, prompt: Prompt) -> ToolRequest:
    return ToolRequest(request.purpose, prompt, request.tool, request.source, request.deadline_seconds)


async def test_a_creation_prompt_shows_the_model_the_whole_conversation(model: OpenAICompatibleModel) -> None:
    prompt = render_creation(MESSAGES, tool_name="create_working_memory")
    answer = await model.call_tool(_with_prompt(create_request(MESSAGES), prompt))
    created = read_created(answer.content)
    assert created is not None
    assert "Ana (user): We moved the tide tables" in created.bodies[Section.KEY_FACTS]
    assert "harbour/tides.py" in created.bodies[Section.FILES_AND_CONTEXT]
    assert "Is port 5433 free?" in created.bodies[Section.OPEN_ISSUES]


async def test_an_update_prompt_shows_document_and_messages(
    model: OpenAICompatibleModel, model_server: ModelServer
) -> None:
    prompt = render_update(
        {Section.SESSION_TITLE: "Tide tables"},
        MESSAGES,
        tool_name="update_working_memory",
        sizes={section: Size(section, 1, 2) for section in SECTIONS},
        deferred=["Berth 9 is closed"],
    )
    answer = read_answer((await model.call_tool(_with_prompt(update_request(MESSAGES), prompt))).content)
    assert isinstance(answer.ops[Section.CURRENT_STATE], Update)
    assert isinstance(answer.ops[Section.KEY_FACTS], Append)
    (call,) = model_server.calls
    assert "Tide tables" in call.prompt
    assert "Berth 9 is closed" in call.prompt
