"""The CDK app that deploys Everthread."""
