// The two ways in which a command fails without a bug: wrong usage, or it could not be done.

/** Wrong usage: printed with the command's usage, exit code 2. */
export class UsageError extends Error {}

/** The request could not be done for a local reason: exit code 1, no stack trace. */
export class Failure extends Error {}
