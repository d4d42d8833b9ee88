// How a file of the dashboard is sent: cached by its name, and compressed.

/** Names under /assets/ contain a hash of the file; the page that names them is revalidated each time. */
const IMMUTABLE = "/assets/";

const COMPRESSIBLE = /^(text\/|image\/svg|application\/(json|javascript))/;

/** `accepted`: the request's `accept-encoding`. */
export const assetResponse = (asset: Response, path: string, accepted: string): Response => {
  const response = new Response(asset.body, asset);
  const isHashed = path.startsWith(IMMUTABLE);
  response.headers.set("cache-control", isHashed ? "public, max-age=31536000, immutable" : "no-cache");
  return compressed(response, accepted);
};

/** Compressed, scripts and styles are a quarter of their size. The platform compresses when this header is set. */
const compressed = (asset: Response, accepted: string): Response => {
  const { headers } = asset;
  const isWanted = /\bgzip\b/.test(accepted) && COMPRESSIBLE.test(headers.get("content-type") ?? "");
  headers.append("vary", "accept-encoding");
  if (!isWanted || asset.body === null || headers.has("content-encoding")) return asset;
  headers.set("content-encoding", "gzip");
  headers.delete("content-length");
  return asset;
};
