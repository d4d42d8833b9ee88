// The two ways in which a command ends without a defect: it was not understood, or it could not be done.

/** What was typed cannot be understood: told with the verb's usage, exit code 2. */
export class UsageError extends Error {}

/** What was asked could not be done, for a reason of this side: exit code 1, without a stack. */
export class Failure extends Error {}
