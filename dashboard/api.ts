// The page's only access to the coordinator: the shared client, same origin, session cookie. Every refusal is an
// ApiProblem with an explanation; the caller must show it.

import { createClient } from "../contract/client.ts";

let onSignedOut: () => void = () => {};
/** The handler is called when a request finds that the session has ended. */
export const whenSignedOut = (handler: () => void): void => {
  onSignedOut = handler;
};

export const api = createClient({
  url: "",
  // The page shows a failure at once, with a button to try again.
  retries: 0,
  onProblem: ({ status }, path) => {
    if (status === 401 && path !== "/session") onSignedOut();
  },
});
