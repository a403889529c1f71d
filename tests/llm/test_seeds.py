from concurrent.futures import ThreadPoolExecutor

from seasoned.llm.seeds import seed_shifted, shifted


def test_a_shift_is_seen_in_its_block_alone():
    assert shifted(7) == 7
    with seed_shifted(2):
        assert (shifted(7), shifted(None)) == (9, None)
        with seed_shifted(0):
            assert shifted(7) == 7
    assert shifted(7) == 7


def test_a_shift_is_seen_in_its_thread_alone():
    with seed_shifted(3), ThreadPoolExecutor(1) as pool:
        assert pool.submit(shifted, 0).result() == 0
