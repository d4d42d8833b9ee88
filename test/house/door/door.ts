import { ROOM } from "./room.ts";

/** How many of a crowd find room. */
export const admitted = (crowd: number): number => Math.min(crowd, ROOM.size);
