// An id begins with when it was made (UUID version 7, RFC 9562).

/** In epoch milliseconds; the id must be one that this service made. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
