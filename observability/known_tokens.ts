/**
 * The prefixes by which vendors mark their credentials, so that scanners find them in texts.
 * Source: the rules of gitleaks (config/gitleaks.toml, 2026-07-22) and the vendors' documentation.
 */
const PREFIXES = [
  "gh[oprsu]_|github_pat_|gl(?:pat|dt|ft|rt|ptt|soat|agent|cbt|imt|ffct|oas)-", // GitHub, GitLab
  "xox[abeoprs][-.]|xapp-|[sr]k_(?:live|test|prod)_|whsec_", // Slack, Stripe, Standard Webhooks
  "AIza|ya29\\.|GOCSPX-|ABSK|LTAI|EAA[MC]", // Google, Amazon Bedrock, Alibaba, Meta
  "sk-(?:ant-|proj-|svcacct-|admin-|or-)?|hf_|pplx-|gsk_|xai-|nvapi-", // model providers
  "npm_|pypi-AgE|rubygems_|clojars_|dckr_[po]at_|oy2", // package registries
  "do[opr]_v1_|dapi|pscale_|sbp_|hv[bs]\\.|dp\\.[a-z]{2,5}\\.|pul-|fo1_|fm[12][ar]?_", // platforms
  "shp(?:at|ca|pa|ss)_|sq0[a-z]{3}-|EZ[AT]K|FLWSECK|shippo_", // commerce
  "SG\\.|xkeysib-|re_|lin_api_|ntn_|PMAK-|rdme_|gl(?:sa|c)_|sntry[su]_|dt0c01\\.", // services
  "NRAK-|NRII-|NRAL-|figd_|figu[hr]?_|napi_|key-(?=[0-9a-f]{32})", // New Relic, Figma, Neon, Mailgun
  "AGE-SECRET-KEY-1|ops_eyJ|A3-|wst_", // the last one: tickets of this package
];

/** A vendor's prefix and at least 16 further characters. */
export const KNOWN_TOKEN: RegExp = new RegExp(
  `(?<![\\w-])(?:${PREFIXES.join("|")})[\\w.~+/=-]{16,}`,
  "g",
);
/** Prefixes that identify a token anywhere in a text. */
export const CERTAIN_TOKEN: RegExp =
  /(?:gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|[sr]k_(?:live|test)_|whsec_|shp(?:at|ca|pa|ss)_)[\w-]{16,}/g;
/** The id of an AWS access key, and a Twilio API key. */
export const KEY_ID: RegExp =
  /(?<![A-Z0-9])(?:(?:AKIA|ASIA|ABIA|ACCA|AROA)[A-Z0-9]{16}(?![A-Z0-9])|(?<!\w)SK[0-9a-f]{32}\b)/g;
/** Tokens that are known by a part in the middle: a client secret of Azure, an API token of HCP, a bot of Telegram. */
export const FORMED_TOKEN: RegExp =
  /(?<![\w~.-])(?:[\w~.-]{3}8Q~[\w~.-]{31}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60}|(?:bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35})(?![\w~-])/g;
/** Addresses to which everybody who knows them can post: Slack, Discord, Teams, Google Chat. */
export const WEBHOOK_URL: RegExp =
  /(hooks\.slack\.com\/[a-z]{1,20}\/|discord(?:app)?\.com\/api\/(?:v[0-9]{1,2}\/)?webhooks\/|webhook\.office\.com\/|chat\.googleapis\.com\/v1\/spaces\/)[^\s"'<>]+/g;
const KEY_START = /-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/g;
const KEY_END = /-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}/g;

/**
 * Finds private keys in PEM, up to the last line of each or to the end of the text.
 *
 * @param text Any text.
 * @returns Start and end of each.
 */
export function findPrivateKeys(text: string): [start: number, end: number][] {
  const found: [number, number][] = [];
  KEY_START.lastIndex = 0;
  for (let start = KEY_START.exec(text); start !== null; start = KEY_START.exec(text)) {
    KEY_END.lastIndex = KEY_START.lastIndex;
    const end = KEY_END.exec(text) === null ? text.length : KEY_END.lastIndex;
    found.push([start.index, end]);
    KEY_START.lastIndex = end;
  }
  return found;
}
