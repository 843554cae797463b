import { dirname, join } from "node:path";

/** Address of the repository's files, in links from outside of it. */
export const REPOSITORY = "https://github.com/trellis-fn/trellis";

/** Address of the published site, which has a folder for each version. */
export const SITE = "https://trellis-fn.github.io/trellis/";

/** A link or image of a Markdown text. */
export interface Link {
  /** Target without the anchor, as written. Empty for a link within the page. */
  readonly target: string;
  /** Anchor without `#`, or the empty string. */
  readonly anchor: string;
}

/**
 * Lists the links and images of a Markdown text, except those in code.
 *
 * @returns The links in order.
 */
export function listLinks(text: string): Link[] {
  return [...removeCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, address]) => {
    const [target, anchor = ""] = address.split("#");
    return { target, anchor };
  });
}

/** Lists the anchors of a Markdown text: its headings, in GitHub's form, and explicit ids. */
export function listAnchors(text: string): Set<string> {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
  const headings = [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
    heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-")
  );
  const ids = [...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id);
  return new Set([...headings, ...ids]);
}

/**
 * Resolves a relative link of a page to a path in the repository.
 *
 * @param page Path of the page from the root of the repository.
 * @param target The link's target.
 * @returns The path, or `undefined` for another host.
 */
export function resolveLink(page: string, target: string): string | undefined {
  const own = target.match(
    /^https:\/\/(?:github\.com\/trellis-fn\/trellis\/(?:blob|tree)|raw\.githubusercontent\.com\/trellis-fn\/trellis)\/main\/(.+)$/,
  );
  if (own !== null) return own[1];
  if (/^[a-z]+:/.test(target)) return undefined;
  return target === "" ? page : join(dirname(page), target);
}

function removeCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
}
