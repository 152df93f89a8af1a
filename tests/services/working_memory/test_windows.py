"""Long conversations and small models: what is asked, what is reported, and what a retry need not ask again."""

import json

import pytest

from app.domain.messages import MessageRole, NewMessage
from app.domain.tasks import TaskStatus
from app.domain.working_memory.sections import SECTIONS, Section
from tests.support.conversations import said
from tests.support.model_answers import updated
from tests.support.model_behaviours import limit, ok, status
from tests.support.model_server import Call, ModelServer
from tests.support.over_http import SESSION, OpenScene, Scene

FACTS = [f"The berth of ship {number} costs €{1000 + number} from 2031-05-{number + 10}." for number in range(10)]
FILLER = "We went through the harbour list again and nobody found anything that was not known before. "
OUTPUT = '{"berth": 17, "tide": "04:31", "pump": "idle", "crew": ["Ana", "Ben"], "note": "no change"}\n'


def dump(position: int, times: int) -> NewMessage:
    part = {"type": "tool", "tool_id": f"t{position}", "tool_name": "read_log", "tool_status": "completed",
            "tool_output": OUTPUT * times}  # fmt: skip
    return NewMessage(MessageRole.ASSISTANT, (part,))


def long_conversation() -> list[NewMessage]:
    """About 60,000 tokens in 144 messages: 45,000 of them tool output, and ten facts from the first to the last."""
    messages = [said(FILLER * 8) for _ in range(144)]
    for position in range(5, 144, 10):
        messages[position] = dump(position, 91)
    for position, fact in enumerate(FACTS):
        messages[round(position * 143 / 9)] = said(f"{fact} {FILLER * 3}")
    return messages


def tokens_of(scene: Scene, call: Call) -> int:
    """Return what a call takes of the window by the server's own count: the messages and the tool."""
    texts = [str(message["content"]) for message in call.request["messages"]]
    schemas = [json.dumps(tool["function"]["parameters"]) for tool in call.request.get("tools", [])]
    return sum(map(scene.services.count_tokens, texts + schemas))


@pytest.mark.parametrize("window", [8_000, 12_288])
async def test_a_long_conversation_fits_a_small_window_piece_by_piece(
    open_scene: OpenScene, model_server: ModelServer, window: int
) -> None:
    model_server.script(limit(window))
    async with open_scene(model_context_tokens=window) as scene:
        messages = long_conversation()
        await scene.services.messages.append(scene.scope, SESSION, messages)
        stored = (await scene.services.context.assemble(scene.scope, SESSION, 1_000_000)).fitted
        outputs = [message for message in stored.messages if message.parts[0]["type"] == "tool"]
        assert 58_000 < stored.message_tokens < 66_000
        assert 43_000 < sum(message.tokens for message in outputs) < 48_000
        task = await scene.commit()
        calls = model_server.calls
        assert {call.behaviour for call in calls} == {"ok"}
        assert max(tokens_of(scene, call) for call in calls) <= window - window // 4
        assert task.status is TaskStatus.COMPLETED
        assert (task.archive.outcome, task.shortened_messages) == ("partial", [message.seq for message in outputs])
        assert scene.job(1).result == {"pieces": len(calls), "shortened_messages": task.shortened_messages}
        answers = scene.answers(1)
        ranges = [(answer.first_seq, answer.last_seq) for answer in answers]
        assert len(ranges) == len(calls) == len(set(ranges))
        assert ranges[0][0] == 1
        assert ranges[-1][1] == 144
        assert [first for first, _ in ranges[1:]] == [last + 1 for _, last in ranges[:-1]]
        assert [call.kind for call in calls] == ["create_working_memory", *["update_working_memory"] * (len(calls) - 1)]
        for fact in FACTS:
            assert sum(fact in call.prompt.rpartition("<conversation>")[2] for call in calls) == 1


async def test_a_retry_asks_only_about_the_pieces_that_have_no_answer(
    open_scene: OpenScene, model_server: ModelServer
) -> None:
    async with open_scene(model_context_tokens=8_000) as scene:
        await scene.services.messages.append(scene.scope, SESSION, [said(f"{n}: {FILLER * 20}") for n in range(1, 31)])
        model_server.script(ok(), ok(), ok(), status(503))
        task = await scene.commit()
        assert (task.status, task.archive.outcome, scene.job(1).attempts) == (TaskStatus.COMPLETED, "applied", 2)
        ranges = [(answer.first_seq, answer.last_seq, answer.attempt) for answer in scene.answers(1)]
        assert [attempt for _, _, attempt in ranges[:4]] == [1, 1, 1, 2]
        assert len({first for first, _, _ in ranges}) == len(ranges) == len(model_server.calls) - 1
        assert model_server.calls[3].prompt == model_server.calls[4].prompt
        assert scene.job(1).result["pieces"] == len(ranges)


async def test_a_piece_that_fails_for_good_fails_the_whole(open_scene: OpenScene, model_server: ModelServer) -> None:
    async with open_scene(model_context_tokens=8_000) as scene:
        await scene.remember()
        before = await scene.bodies()
        await scene.services.messages.append(scene.scope, SESSION, [said(f"{n}: {FILLER * 20}") for n in range(1, 31)])
        model_server.script(ok(), ok(), status(401))
        task = await scene.commit()
        assert (task.status, task.archive.outcome, await scene.bodies()) == (TaskStatus.FAILED, "failed", before)
        assert [answer.usable for answer in scene.answers()] == [True, True]


async def test_a_document_too_long_for_the_window_is_shown_in_part_and_kept_whole(
    open_scene: OpenScene, model_server: ModelServer
) -> None:
    window = 8_000
    bodies = {
        "Session Title": "Tide tables of the harbour",
        "Current State": "The list is being written.",
        "Task & Goals": "- Write the list of berths",
        "Key Facts & Decisions": "\n".join(f"- Berth {n} is rented by ship {n} since 2031-01-11" for n in range(150)),
        "Files & Context": "\n".join(f"- `berths/berth_{n}.md`: contract number {n}" for n in range(120)),
        "Errors & Corrections": "\n".join(f"- The entry of berth {n} was wrong and was put right" for n in range(120)),
        "Open Issues": "- Is port 5433 free?",
    }  # fmt: skip
    async with open_scene() as scene:
        model_server.script(ok(bodies))
        await scene.commit("We write the list of berths.")
        before = await scene.bodies()
    model_server.reset()
    model_server.script(limit(window))
    async with open_scene(model_context_tokens=window) as scene:
        await scene.tell("Ship 200 takes berth 200.", "See berths/berth_200.md.")
        ops = updated("") | {
            "Key Facts & Decisions": {"op": "UPDATE", "content": "- Ship 200 takes berth 200"},
            "Files & Context": {"op": "UPDATE", "content": "- `berths/berth_200.md`: contract number 200"},
            "Errors & Corrections": {"op": "UPDATE", "content": "[… older items of this section: 70]\n- New"},
            "Current State": {"op": "UPDATE", "content": "Berth 200 was added."},
        }
        model_server.script(ok({"sections": ops}))
        task = await scene.commit()
        after = await scene.bodies()
        (call,) = model_server.calls
        assert (task.archive.outcome, call.behaviour) == ("applied", "ok")
        assert tokens_of(scene, call) <= window - window // 4
        assert "Berth 149 is rented" in call.prompt
        assert "Berth 0 is rented" not in call.prompt
        assert call.prompt.count("older items of this section, kept and not shown here: ") == 3
        assert "Is port 5433 free?" in call.prompt
        assert "Answer with UPDATE for it" not in call.prompt
        assert scene.answers()[0].sections_in_part == [4, 5, 6]
        assert before is not None
        assert after is not None
        assert after[Section.CURRENT_STATE] == "Berth 200 was added."
        added = {section: after[section].removeprefix(before[section]) for section in after}
        assert added[Section.FILES_AND_CONTEXT] == "\n- `berths/berth_200.md`: contract number 200"
        assert added[Section.ERRORS_AND_CORRECTIONS] == "\n- New"
        assert after[Section.KEY_FACTS].startswith(before[Section.KEY_FACTS])
        assert "Ship 200 takes berth 200" in await scene.remembered()


async def test_a_title_state_and_goals_that_fill_the_window_are_refused_in_words(
    open_scene: OpenScene, model_server: ModelServer
) -> None:
    async with open_scene() as scene:
        model_server.script(ok({section.value: f"- {FILLER * 400}" for section in SECTIONS}))
        await scene.commit("one")
        before = await scene.bodies()
    async with open_scene(model_context_tokens=8_000) as scene:
        task = await scene.commit("two")
        assert (task.status, task.archive.outcome, scene.job().attempts) == (TaskStatus.FAILED, "failed", 1)
        assert "CAIRN_MODEL_CONTEXT_TOKENS" in str(task.error)
        assert await scene.bodies() == before
