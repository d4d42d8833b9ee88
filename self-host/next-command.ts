// What someone types after the first start: a job, whose answer shows that everything works. The key stays in its file.

import { npx, packageAt } from "../contract/words/version.ts";

/** For a POSIX shell. */
const quoted = (text: string): string => (/^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export const nextCommand = (url: string, keyFile: string): string =>
  [
    `SERVICE_API_URL=${url}`,
    `SERVICE_API_KEY="$(cat ${quoted(keyFile)})"`,
    `${npx(`--yes ${packageAt(url)}`)} run "Say hello." --wait`,
  ].join(" ");
