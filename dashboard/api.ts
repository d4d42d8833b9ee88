// The page's one way to the coordinator: the shared client, same origin, session cookie. Every refusal is an ApiProblem
// that says in words what went wrong; the caller shows it, nobody swallows it.

import { createClient } from "../contract/client.ts";

let onSignedOut: () => void = () => {};
/** Called when a request finds that the session has ended. */
export const whenSignedOut = (handler: () => void): void => {
  onSignedOut = handler;
};

export const api = createClient({
  url: "",
  // The page shows what went wrong at once, with a button to try again.
  retries: 0,
  onProblem: ({ status }, path) => {
    if (status === 401 && path !== "/session") onSignedOut();
  },
});
