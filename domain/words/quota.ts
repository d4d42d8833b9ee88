/** The account at a provider has no money left: in the words of the worker process, and in those of OpenAI's API. */
export const QUOTA_CODES: readonly string[] = ["quota_exhausted", "insufficient_quota"];
