// The operator's own certificate authorities (NODE_EXTRA_CA_CERTS), which Node trusts by itself: workerd is given them.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { ExitError } from "../exit-error.ts";

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Each in PEM. Ends the start if the file cannot be used: Node only warns, and its calls fail later. */
export const readExtraCertificates = (env: NodeJS.ProcessEnv): readonly string[] => {
  const { NODE_EXTRA_CA_CERTS: file } = env;
  if (!file) return [];
  const wrong = (why: string) => new ExitError(`NODE_EXTRA_CA_CERTS: ${file} ${why}`);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw wrong(`cannot be read: ${(error as Error).message}`);
  }
  const found = text.match(PEM) ?? [];
  if (found.length === 0) throw wrong("has no certificate in PEM (-----BEGIN CERTIFICATE-----).");
  for (const [index, pem] of found.entries()) {
    try {
      new X509Certificate(pem);
    } catch (error) {
      throw wrong(`has a certificate (number ${index + 1}) that cannot be read: ${(error as Error).message}`);
    }
  }
  return found;
};
