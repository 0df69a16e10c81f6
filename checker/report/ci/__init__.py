"""What a build system reads: JUnit XML, annotations and a summary of GitHub's, SARIF."""
