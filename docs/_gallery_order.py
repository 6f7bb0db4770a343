"""The order of the examples: from the first label to the audits."""

ORDER = (
    "private_labels",
    "what_epsilon_means",
    "choose_settings",
    "teachers_or_regression",
    "prices",
    "grid_search",
    "owners",
    "individual_budgets",
    "multilabel",
    "top_k",
    "class_ratio",
    "hospitals",
    "hospital_group",
    "budget_year",
    "audits",
)


def in_order(file):
    """Return the place of an example; one that has none is an error, and the build says so."""
    return ORDER.index(file.removeprefix("plot_").removesuffix(".py"))
