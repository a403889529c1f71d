"""The runner: recipes, plans, episodes and whole experiments that can be killed and resumed."""
