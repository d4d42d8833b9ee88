/** Tests make it smaller. */
export const ROOM = { size: 8 };
