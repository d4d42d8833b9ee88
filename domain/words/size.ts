// Sizes in bytes. A GB of storage has 10⁹ of them: `tenant/storage-use.ts`.

export const KIB = 1024;
export const MIB = 1024 * KIB;
