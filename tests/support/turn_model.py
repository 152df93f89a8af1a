"""The window of whole turns in plain Python, by the words of the rules, to hold the database against."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.messages import NewMessage, is_user_turn, transports_results
from app.domain.retention import TurnRetention
from tests.support.window_model import WindowModel


@dataclass
class Turn:
    """What a person said, where that is known, and the steps that followed: seqs of messages."""

    anchor: int | None
    steps: list[list[int]] = field(default_factory=list)

    def seqs(self) -> list[int]:
        return [*([self.anchor] if self.anchor else []), *(seq for step in self.steps for seq in step)]


@dataclass
class TurnModel(WindowModel):
    """One session that keeps messages by number until it is committed by turns."""

    turns: TurnRetention | None = None
    messages: list[NewMessage] = field(default_factory=list)
    anchor: int | None = None

    @property
    def pending_tokens(self) -> int:
        if self.turns is None:
            return super().pending_tokens
        cut, anchor = self.plan(self.turns)
        gone = range(self.sealed_seq + 1, cut + 1)
        return sum(self.tokens[seq - 1] for seq in gone if seq != anchor)

    @property
    def active_tokens(self) -> int:
        """Return the tokens of what is live, and of the message before it whose turn goes on."""
        return sum(self.tokens[self.sealed_seq :]) + (self.tokens[self.anchor - 1] if self.anchor else 0)

    def append(self, messages: Sequence[NewMessage], tokens: Sequence[int]) -> None:
        super().append(messages, tokens)
        self.messages.extend(messages)

    def commit(self, keep: int) -> int | None:
        self.turns, self.anchor = None, None
        return super().commit(keep)

    def commit_by_turns(self, turns: TurnRetention) -> int | None:
        """Seal what the plan lets go, moved back for the sake of tool calls; return the end of the new archive."""
        self.turns = turns
        wanted, _ = self.plan(turns)
        cut = self.latest_whole_cut(wanted)
        self.anchor = self._anchor_behind(cut)
        if cut == self.sealed_seq:
            return None
        self.ends.append(cut)
        return cut

    def commit_idle(self) -> int | None:
        anchor = self._anchor_behind(self.latest_whole_cut(self.last_seq)) if self.turns else None
        end = super().commit_idle()
        self.anchor = anchor
        return end

    def live_turns(self) -> list[Turn]:
        """Return the turns of the live messages; the first has the archived anchor where there is one."""
        turns: list[Turn] = []
        for seq in range(self.sealed_seq + 1, self.last_seq + 1):
            message = self.messages[seq - 1]
            if is_user_turn(message):
                turns.append(Turn(seq))
                continue
            if not turns:
                turns.append(Turn(self.anchor))
            steps = turns[-1].steps
            if transports_results(message) and steps:
                steps[-1].append(seq)
            else:
                steps.append([seq])
        return turns

    def plan(self, turns: TurnRetention) -> tuple[int, int | None]:
        """Return the cut, and the archived message of a person that stays visible behind it."""
        kept = self.live_turns()[-turns.keep_turns :] if turns.keep_turns else []
        while len(kept) > 1 and sum(map(self._cost, kept)) > turns.token_budget:
            kept.pop(0)
        if not kept:
            return self.last_seq, None
        if len(kept) > 1 or self._cost(kept[0]) <= turns.token_budget:
            return self._cut_before(kept[0].seqs(), kept[0].anchor)
        return self._plan_large(kept[0], turns)

    def _plan_large(self, turn: Turn, turns: TurnRetention) -> tuple[int, int | None]:
        if turn.anchor is None:
            return self.last_seq, None
        steps = turn.steps
        staying = steps[-max(1, turns.min_tail_steps) :]
        limit = turns.token_budget - min(1024, turns.token_budget // 4)
        while len(staying) < len(steps):
            more = steps[-len(staying) - 1 :]
            if self._cost(Turn(turn.anchor, more)) > limit:
                break
            staying = more
        if len(staying) == len(steps):
            return self._cut_before(turn.seqs(), turn.anchor)
        return staying[0][0] - 1, turn.anchor

    def _cut_before(self, seqs: Sequence[int], anchor: int | None) -> tuple[int, int | None]:
        """Return the cut that keeps these messages, the first of which may be archived already."""
        live = [seq for seq in seqs if seq > self.sealed_seq]
        return live[0] - 1, anchor if anchor and anchor <= self.sealed_seq else None

    def _anchor_behind(self, cut: int) -> int | None:
        for turn in self.live_turns():
            if cut + 1 in [seq for step in turn.steps for seq in step]:
                return turn.anchor
        return None

    def _cost(self, turn: Turn) -> int:
        return sum(self.tokens[seq - 1] for seq in turn.seqs())
