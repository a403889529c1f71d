from concurrent.futures import ThreadPoolExecutor

from seasoned.llm.seeds import seed_shifted, shifted


def test_a_shift_is_seen_in_its_block_alone():
    assert shifted(7, "a") == 7
    with seed_shifted(2):
        assert shifted(7, "a") != 7
        assert shifted(None, "a") is None
        with seed_shifted(0):
            assert shifted(7, "a") == 7
    assert shifted(7, "a") == 7


def test_each_prompt_of_each_shift_has_a_seed_of_its_own_and_keeps_it():
    def seeds():
        for shift in (1, 2, 1001):
            with seed_shifted(shift):
                yield from (shifted(seed, f"task {n} \ud800") for n in range(100) for seed in (0, 1))

    first = list(seeds())
    assert first == list(seeds())
    assert len(set(first)) == len(first) == 600
    assert all(0 <= seed < 2**31 for seed in first)
    assert 0.3 < sum(seed > 2**30 for seed in first) / 600 < 0.7


def test_a_shift_is_seen_in_its_thread_alone():
    with seed_shifted(3), ThreadPoolExecutor(1) as pool:
        assert pool.submit(shifted, 0, "a").result() == 0
