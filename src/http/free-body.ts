/** Before more of a body is read, its key, the key's limits and the tenant's state are asked for. */
export const FREE_BODY_BYTES: number = 64 * 1024;
