"""`python -P -m infra.preflight`: would this account take the deployment? Asked before anything is made.

looking    what the account answers          judging    what that means, purely
"""
