"""What a deployment costs: the idle bill is read off its templates, the rest follows from what is asked of it.

What runs take is measured (`measured.json`), what idles follows from the code (`usage.py`), and prices are a dated file
(`infra/prices.json`).
"""
