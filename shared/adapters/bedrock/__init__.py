"""Amazon Bedrock, through langchain-aws."""
