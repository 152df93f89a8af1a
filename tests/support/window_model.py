"""A conversation in plain Python, by the words of the rules and in the slowest way, to hold the database against."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.messages import NewMessage, is_user_turn, tool_uses


@dataclass
class Call:
    """A tool call and, once there, its result."""

    tool_id: str
    call_seq: int
    result_seq: int | None = None


@dataclass
class WindowModel:
    """One session: tokens by message, what is sealed, and which calls wait."""

    keep: int = 0
    tokens: list[int] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    last_user_seq: int = 0

    @property
    def last_seq(self) -> int:
        return len(self.tokens)

    @property
    def sealed_seq(self) -> int:
        return self.ends[-1] if self.ends else 0

    @property
    def live_count(self) -> int:
        return self.last_seq - self.sealed_seq

    @property
    def pending_tokens(self) -> int:
        """Return the tokens of the live messages outside the newest `keep`, counted one by one."""
        return sum(self.tokens[self.sealed_seq : max(self.sealed_seq, self.last_seq - self.keep)])

    def append(self, messages: Sequence[NewMessage], tokens: Sequence[int]) -> None:
        for message, count in zip(messages, tokens, strict=True):
            self.tokens.append(count)
            if is_user_turn(message):
                self.last_user_seq = self.last_seq
            for use in tool_uses([message]):
                self._use(use.tool_id, is_result=use.is_result)

    def commit(self, keep: int) -> int | None:
        """Seal what can be sealed and return the end of the new archive, None where nothing can."""
        self.keep = keep
        cut = self.latest_whole_cut(self.last_seq - keep)
        if cut == self.sealed_seq:
            return None
        self.ends.append(cut)
        return cut

    def commit_idle(self) -> int | None:
        """Seal all that can be sealed and remember nothing; return the end of the new archive."""
        cut = self.latest_whole_cut(self.last_seq)
        if cut == self.sealed_seq:
            return None
        self.ends.append(cut)
        return cut

    def latest_whole_cut(self, wanted: int) -> int:
        """Return the latest cut up to `wanted` that parts no call from its result."""
        wanted = max(wanted, self.sealed_seq)
        return next(cut for cut in range(wanted, self.sealed_seq - 1, -1) if not self._tears(cut))

    def _use(self, tool_id: str, *, is_result: bool) -> None:
        if not is_result:
            if not any(call.tool_id == tool_id and call.call_seq == self.last_seq for call in self.calls):
                self.calls.append(Call(tool_id, self.last_seq))
            return
        waiting = [call for call in self.calls if call.tool_id == tool_id and call.result_seq is None]
        if waiting:
            waiting[0].result_seq = self.last_seq

    def _tears(self, cut: int) -> bool:
        return any(self._awaited(call) and call.call_seq <= cut < (call.result_seq or cut + 1) for call in self.calls
                   if call.call_seq > self.sealed_seq)  # fmt: skip

    def _awaited(self, call: Call) -> bool:
        return call.result_seq is not None or call.call_seq > self.last_user_seq
