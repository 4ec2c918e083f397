from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nonoka.adapters.processes.output import CappedOutput


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=40))
def test_head_and_tail_are_kept_and_the_rest_is_counted(chunks: list[bytes]) -> None:
    output = CappedOutput(kept_bytes=16)
    for chunk in chunks:
        output.add(chunk)
    whole = b"".join(chunks)
    surplus = max(len(whole) - 32, 0)
    assert output.read() == (whole[:16] + whole[16 + surplus :], surplus)
    assert output.read() == (whole[:16] + whole[16 + surplus :], surplus), "reading changes nothing"
