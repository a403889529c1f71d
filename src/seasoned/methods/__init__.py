"""The methods: one paper a file, its prompts beside it. A method knows no agent and no benchmark."""
