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
  "AGE-SECRET-KEY-1|ops_eyJ|A3-",
];

/** A vendor's prefix and at least 16 further characters. */
export const KNOWN_TOKEN: RegExp = new RegExp(
  `(?<![\\w-])(?:${PREFIXES.join("|")})[\\w.~+/=-]{16,}`,
  "g",
);
/** The id of an AWS access key, and a Twilio API key. */
export const KEY_ID: RegExp =
  /(?<!\w)(?:(?:AKIA|ASIA|ABIA|ACCA|AROA)[A-Z0-9]{16}|SK[0-9a-f]{32})\b/g;
/** A private key in PEM, up to its last line or to the end of the text. */
export const PEM_BLOCK: RegExp =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z0-9 ]{0,60}-----)?/g;
