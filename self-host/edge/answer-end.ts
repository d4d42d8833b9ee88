// When an answer has ended: Node closes a response after its last byte, and when its connection is lost.

import type { Exchange } from "./pass-on.ts";

/** Calls back once. A socket's handshake is answered at once: what is said on it has bounds of its own. */
export const onAnswerEnd = ({ outgoing, head }: Exchange, then: () => void): void => {
  if (head !== undefined || outgoing.closed || outgoing.destroyed) then();
  else outgoing.once("close", then);
};
