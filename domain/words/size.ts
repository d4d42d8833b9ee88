// Sizes in bytes. A GB of storage has 10⁹ of them: `tenant/storage-use.ts`.

export const KIB = 1024;
export const MIB = 1024 * KIB;

/**
 * V8 takes pages of their own from the system for longer texts, and soon gives them back. Where page faults are dear, as
 * on many virtual machines, each copy of a text of 500 KB costs more than to write its JSON.
 */
export const LONG_TEXT_CHARS = 100_000;
