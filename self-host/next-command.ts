// What someone types after the first start: a job, whose answer shows that everything works. The key stays in its file.

import { npx, packageAt } from "../contract/words/version.ts";

/** For a POSIX shell. */
const quoted = (text: string): string => (/^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const inPowerShell = (url: string, keyFile: string): string =>
  `$env:SERVICE_API_URL = '${url}'; $env:SERVICE_API_KEY = Get-Content -LiteralPath '${keyFile.replaceAll("'", "''")}'; `;

const inPosix = (url: string, keyFile: string): string =>
  `SERVICE_API_URL=${url} SERVICE_API_KEY="$(cat ${quoted(keyFile)})" `;

export const nextCommand = (url: string, keyFile: string, platform: NodeJS.Platform = process.platform): string => {
  const settings = platform === "win32" ? inPowerShell(url, keyFile) : inPosix(url, keyFile);
  return `${settings}${npx(`--yes ${packageAt(url)}`)} run "Say hello." --wait`;
};
