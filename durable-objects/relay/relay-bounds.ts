// The bounds of streams. What happens at each of them: `growth.ts`.

import { MAX_DATA_FRAME_BYTES } from "../../contract/data-line.ts";
import { KIB, MIB } from "../../domain/words/size.ts";

/** What a late reader can get again of one stream, and what a reader may leave unread for longer than a moment. */
export const WINDOW_BYTES = MIB;
/** What a burst may leave unread beyond that, for a moment: a data frame of the largest size. */
export const BURST_BYTES = MAX_DATA_FRAME_BYTES;
/** A client that reads on may stand still for so long on a loaded machine. Sources that can wait do so meanwhile. */
export const BURST_MS = 2_000;
/** The platform copies what it writes to a reader: of a large part a piece at a time. */
export const PIECE_BYTES = 64 * KIB;
/** So much of events that are too long for a part may be left unread, too: they come at once. */
export const LONG_EVENT_BYTES = 16 * MIB;
export const MAX_STREAMS = 4_096;
/** Of one relay; a line takes 77 KB of its process. */
export const MAX_LINES = 4_096;
/** Output that its tenant has not confirmed as this worker's yet. */
export const UNCONFIRMED_BYTES = 2 * MAX_DATA_FRAME_BYTES;
/** What an unconfirmed stream counts besides its output; for a while also after it was refused. */
export const STREAM_BYTES = KIB;
/** Windows and unread output of one relay. */
export const RELAY_BYTES = 32 * MIB;
/** The same of all relays of a process: each may take an equal share, and half of what the others leave. */
export const PROCESS_BYTES = 64 * MIB;
