"""Evaluation with the rule about what stems from an observation alone."""

from seasoned.lab.run.recipe import make_recipe


def test_the_rule_costs_a_clean_run_nothing_and_is_no_part_of_the_digest_where_it_is_off(go, recipe, store):
    usual = recipe()
    assert usual.digest == make_recipe(usual.model_dump()).digest != recipe(trust=True).digest
    results = []
    for given in (usual, recipe(trust=True)):
        done = go(given)
        of_run = [lesson for lesson in store.lessons() if store.scope_of(lesson.id).startswith(done.name)]
        assert of_run
        assert {lesson.status for lesson in of_run} == {"active"}
        results.append([lesson.text for lesson in of_run])
    assert results[0] == results[1]
