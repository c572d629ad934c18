"""The parts that stacks are composed of; each names one role and knows nothing of the others."""
