// Sizes in bytes. A GB of storage has 10⁹ of them: `tenant/storage-use.ts`.

export const KIB = 1024;
export const MIB = 1024 * KIB;

/**
 * V8 takes pages of their own from the system for longer texts, and soon gives them back. Where page faults are dear, as
 * on many virtual machines, a text of 500 KB costs as much again as to write its JSON, at each copy.
 */
export const LONG_TEXT_CHARS = 100_000;
