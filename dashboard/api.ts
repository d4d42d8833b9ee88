// The page's only access to the coordinator: the shared client, same origin, session cookie. Every refusal is an
// ApiProblem with an explanation; the caller must show it.

import { createClient } from "../contract/client.ts";

let onUnlike: () => void = () => {};
/** The handler is called when a request finds that the session has ended, or that its role may be another by now. */
export const whenUnlike = (handler: () => void): void => {
  onUnlike = handler;
};

export const api = createClient({
  url: "",
  // The page shows a failure at once, with a button to try again.
  retries: 0,
  onProblem: ({ status }, path) => {
    if ((status === 401 || status === 403) && path !== "/session") onUnlike();
  },
});
