from rackproof.checker.performance.migrations import Stalls, predicted
from rackproof.model.kernel import Observation
from rackproof.model.timing.timeouts import TIMEOUTS, with_timeouts
from rackproof.scenarios.recorded.migrations import Migration, migrations
from rackproof.scenarios.recorded.noted import Noted


def noted(
    witness: str, kind: str, time: float | None, clock: str = "host", **values: int | str
) -> Noted:
    observation = Observation(witness, kind, {k.replace("_", "-"): v for k, v in values.items()})
    return Noted("r", Observation(witness, kind, observation.values, time=time), clock)


TOKENS = [1.0, 1.1, 1.2, 4.3, 4.4, 4.5]
OWN = [
    noted("frontend", "dispatch", 0.9, attempt=0, worker="111", delivered=0),
    noted("frontend", "failed", 4.2, attempt=0, worker="111", error="response-timeout"),
    noted("frontend", "dispatch", 4.21, attempt=1, worker="222", delivered=3),
    *(noted("client", "token", time, "laptop", position=n) for n, time in enumerate(TOKENS)),
]
NAMES = {"111": "w0", "222": "w1"}


def called(name: object) -> str:
    return NAMES.get(str(name), str(name))


def of(own: list[Noted], *faults: Noted, one_host: bool = False) -> tuple[Migration, ...]:
    by_worker: dict[str, list[Noted]] = {}
    for one in faults:
        by_worker.setdefault(str(one.observation.values["worker"]), []).append(one)
    return migrations(own, by_worker, called, one_host)


def test_a_migration_is_measured_by_each_clock_alone() -> None:
    (found,) = of(OWN, noted("operator", "hang", 1.25, worker="w0"))
    assert (found.worker, found.to, found.fault) == ("w0", "w1", "hang")
    assert (found.delivered, found.path) == (3, "prefilled anew")
    assert round(found.stall_s or 0, 6) == 3.1, "from the third token to the fourth"
    assert round(found.usual_s or 0, 6) == 0.1, "the stall is not usual"
    assert round(found.detection_s or 0, 6) == 2.95
    assert found.untold is None


def test_clocks_of_different_hosts_are_not_compared() -> None:
    (found,) = of(OWN, noted("operator", "hang", 1.25, "other", worker="w0"))
    assert found.fault == "hang"
    assert found.detection_s is None
    assert found.untold == (
        "the clocks other and host cannot be compared (--one-host if they are of one host)"
    )


def test_whoever_vouches_for_one_host_has_them_compared() -> None:
    fault = noted("operator", "hang", 1.25, "other", worker="w0")
    (found,) = of(OWN, fault, one_host=True)
    assert round(found.detection_s or 0, 6) == 2.95


def test_faults_of_other_workers_and_later_ones_are_none_of_its_own() -> None:
    (found,) = of(
        OWN,
        noted("operator", "crash", 1.25, worker="w1"),
        noted("operator", "crash", 9.0, worker="w0"),
    )
    assert found.fault is None
    assert found.detection_s is None


def test_a_fault_that_is_written_down_just_after_it_was_noticed_is_its_own() -> None:
    (found,) = of(OWN, noted("operator", "crash", 4.25, worker="w0"))
    assert (found.fault, found.detection_s) == ("crash", 0.0)


def test_what_is_sent_to_a_worker_that_hangs_already_is_noticed_from_then_on() -> None:
    (found,) = of(OWN, noted("operator", "hang", 0.2, worker="w0"))
    assert round(found.detection_s or 0, 6) == 3.3, "from 0.9, when it was sent"


def test_where_no_attempt_follows_nothing_is_a_stall() -> None:
    (found,) = of([*OWN[:2], *OWN[3:6]])
    assert (found.to, found.path, found.stall_s) == (None, "given up", None)


def test_a_hand_over_is_told_from_a_prefill_in_place() -> None:
    apart = [
        *OWN[:2],
        noted("frontend", "dispatch", 4.21, attempt=1, worker="333", delivered=3),
        noted("frontend", "decode", 4.25, attempt=1, worker="222"),
        *OWN[3:],
    ]
    (found,) = of(apart)
    assert (found.to, found.path, found.delivered) == ("w1", "prefilled apart, KV moved", 3)


def test_each_failure_of_several_has_its_own_stall() -> None:
    twice = [
        *OWN[:3],
        noted("frontend", "failed", 4.45, attempt=1, worker="222", error="disconnected"),
        noted("frontend", "dispatch", 4.46, attempt=2, worker="333", delivered=5),
        *OWN[3:],
    ]
    first, second = of(twice)
    assert (first.delivered, second.delivered) == (3, 5)
    assert [round(one.stall_s or 0, 6) for one in (first, second)] == [3.1, 0.1]


def test_what_is_predicted_is_the_time_out_that_is_set() -> None:
    timeouts = with_timeouts(TIMEOUTS, {"stream-timeout": 3.0})
    delay = predicted("response-timeout", timeouts, 0.1)
    assert delay is not None
    assert (round(delay.low, 6), delay.high) == (2.9, 3.0)
    lease = predicted("worker-removed", timeouts, None)
    assert lease is not None
    assert (lease.low, lease.high) == (5.0, 10.0)
    assert predicted("kv-load-failed", timeouts, None) is None


def test_the_table_has_a_row_for_each_way_and_nothing_where_nothing_is_known() -> None:
    stalls = Stalls(with_timeouts(TIMEOUTS, {"stream-timeout": 3.0}))
    assert stalls.table() is None
    stalls.add(of(OWN, noted("operator", "hang", 1.25, worker="w0")), prompt=7)
    stalls.add([Migration(0, "w0", "kv-load-failed", untold="no operator tells of a fault there")])
    table = stalls.table()
    assert table is not None
    timed_out, unknown = table.data()["rows"]
    assert (timed_out["fault"], timed_out["count"]) == ("hang", 1)
    assert round(timed_out["rest_p50_s"], 6) == 0.15
    assert timed_out["prefill_predicted_s"] > 0
    assert unknown["detection_p50_s"] is None
    assert unknown["detection_predicted_most_s"] is None
    assert any("was noticed, of 1 attempt" in why for why in stalls.untold())
