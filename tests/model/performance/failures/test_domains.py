"""What a failure takes, from the rack it is on."""

import pytest

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.detection import Symptom
from rackproof.model.performance.failures.domains import struck
from rackproof.model.rack import Placement, place, preset

NAMES = ("prefill-0", "prefill-1", "decode-0", "decode-1")


def placed(rack: str = "nvl72", **options: object) -> Placement:
    return place(preset(rack, options or None), prefill=2, decode=2)


def test_an_instance_fails_alone_and_needs_no_rack() -> None:
    found = struck("decode-1", NAMES, None)
    assert (found.stopped, found.detoured, found.symptom) == (("decode-1",), (), Symptom.CRASH)


def test_a_tray_takes_its_instance_in_silence() -> None:
    found = struck("tray-2", NAMES, placed())
    assert (found.stopped, found.symptom) == (("decode-0",), Symptom.SILENCE)


def test_a_tray_of_two_takes_both() -> None:
    assert struck("tray-0", NAMES, placed("hgx", trays=2)).stopped == ("prefill-0", "decode-0")


def test_a_gpu_and_a_host_take_the_instance_on_them() -> None:
    assert struck("gpu-9", NAMES, placed()).stopped == ("decode-0",)
    assert struck("gpu-9", NAMES, placed()).symptom is Symptom.CRASH
    assert struck("host-4", NAMES, placed()).stopped == ("decode-0",)


def test_the_nvlink_domain_takes_all_on_it() -> None:
    whole = struck("nvlink-0", NAMES, placed())
    assert (whole.stopped, whole.symptom) == (NAMES, Symptom.HANG)
    assert struck("nvlink-0", NAMES, placed("hgx")).stopped == ("prefill-0",)


def test_the_nvlink_domain_with_another_way() -> None:
    found = struck("nvlink-0", NAMES, placed(), detour=True)
    assert (found.stopped, found.detoured, found.symptom) == ((), NAMES, Symptom.LINK)


def test_a_nic_takes_a_way_and_no_instance() -> None:
    found = struck("nic-11", NAMES, placed())
    assert (found.stopped, found.detoured, found.symptom) == ((), ("decode-0",), Symptom.LINK)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("decode-7", "nothing called 'decode-7' can fail; did you mean decode-1"),
        ("trey-2", "did you mean tray-2"),
        ("tray-9", "no instance is lost with tray-9"),
        ("nic-70", "no instance sends over nic-70"),
        ("store", "no instance is lost with store"),
    ],
)
def test_what_cannot_fail(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        struck(name, NAMES, placed())


def test_a_part_of_no_rack() -> None:
    with pytest.raises(ModelError, match=r"there are prefill-0, .*; there is no rack"):
        struck("tray-2", NAMES, None)
