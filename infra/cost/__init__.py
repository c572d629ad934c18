"""What a deployment costs: the idle bill is read off its templates, the rest follows from what is asked of it.

Quantities are the product's own numbers (`usage.py`), prices a dated file beside them (`infra/prices.json`).
"""
