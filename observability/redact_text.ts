import { redactNamedValues } from "./redact_named_values.ts";
import { REDACTED } from "./redacted.ts";

const MAX_TEXT = 8192;
/** Maximum number of times that a text may be escaped. */
const MAX_ESCAPED = 3;

/** Credentials after the scheme of an Authorization header. */
const CREDENTIALS = /\b(bearer|basic)(\s+|%20)(["']?)[\w.~+/=-]+/gi;
/** better-auth puts the token of a password reset into the path. */
const RESET_PATH = /(\breset-password\/)[^\s/?#"'<>&]+/g;
/** The user of a request by curl: `-u user:password`. */
const CURL_USER = /(\s(?:-u|-U|--user|--proxy-user)[ =]["']?)[^\s"':]{1,256}:[^\s"']+/g;
const URL_WORD = /[^\s"'<>]+/g;
/** Digits before a slash are a port. JSON may have escaped the slashes. */
const USER_AND_PASSWORD = /:(?:\/\/|\\\/\\\/)([^\s:@/\\]*:)(?!\d+(?:[/?#]|$))/;
/** A user alone is a credential where no such address has a user without a password. */
const TOKEN = /((?:https?|wss?):(?:\/\/|\\\/\\\/))[^\s:@/?#\\]+(?=@)/i;
const WEB_SCHEME = /(?:https?|wss?|ftps?)$/i;
const DOTTED_WORD = /[\w.-]+/g;
const WORD = /\S+/g;
/** Letters, digits and signs that are written as `%3D` or `\u003d`; spaces and commas end values and stay. */
const ESCAPE = /(?:%|\\u00)(2[2356DEF]|3[0-9ADF]|[46][1-9A-F]|40|[57][0-9A]|5[BDF]|7[BD])/gi;

/**
 * Removes secrets from a text, and shortens it to 8,192 characters. It finds credentials by
 * the names before them (`password: x`, `?token=x`), by their form (JSON web tokens, private keys,
 * URLs with a user) and by the prefixes that vendors give them. It cannot know every secret.
 *
 * @param text Any text.
 * @returns The text, the same string when there is nothing to take out.
 */
export function redactText(text: string): string {
  return redact(
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text,
    0,
  );
}

function redact(text: string, depth: number): string {
  let safe = text;
  if (safe.includes("PRIVATE KEY")) safe = redactPrivateKeys(safe);
  if (/earer|asic/i.test(safe)) safe = safe.replace(CREDENTIALS, `$1$2$3${REDACTED}`);
  if (safe.includes("@")) safe = redactUrlUsers(safe);
  if (safe.includes("eyJ")) safe = safe.replace(DOTTED_WORD, redactWebToken);
  if (safe.length >= 18) {
    safe = safe.replace(KNOWN_TOKEN, redactToken).replace(CERTAIN_TOKEN, redactToken).replace(
      KEY_ID,
      REDACTED,
    );
  }
  if (safe.length >= 38 && /8Q~|\.atlasv1\.|\d:[\w-]/.test(safe)) {
    safe = safe.replace(FORMED_TOKEN, REDACTED);
  }
  if (safe.includes("://")) safe = safe.replace(WEBHOOK_URL, `$1${REDACTED}`);
  if (safe.includes("curl ")) safe = safe.replace(CURL_USER, `$1${REDACTED}`);
  if (safe.includes("reset-password/")) safe = safe.replace(RESET_PATH, `$1${REDACTED}`);
  safe = redactNamedValues(safe);
  if (depth === MAX_ESCAPED || !(safe.includes("%") || safe.includes("\\u00"))) return safe;
  return safe.replace(WORD, (word) => redactEscaped(word, depth));
}

/** Reads a word with its escapes undone, and returns it unchanged if it holds no secret. */
function redactEscaped(word: string, depth: number): string {
  const plain = word.replace(ESCAPE, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  if (plain === word) return word;
  const safe = redact(plain, depth + 1);
  return safe === plain ? word : safe;
}

function redactPrivateKeys(text: string): string {
  let safe = "";
  let done = 0;
  for (const [start, end] of findPrivateKeys(text)) {
    safe += text.slice(done, start) + REDACTED;
    done = end;
  }
  return safe + text.slice(done);
}

/** Skips words that only look like a token, such as a long name in snake case. */
function redactToken(token: string): string {
  return /\d|[a-z][A-Z]|[A-Za-z]{30}/.test(token) ? REDACTED : token;
}

/** Replaces three parts between dots, the first of which begins as JSON does in base64. */
function redactWebToken(word: string): string {
  if (!word.includes("eyJ")) return word;
  const parts = word.split(".");
  const kept: string[] = [];
  for (let index = 0; index < parts.length; index++) {
    const isToken = index + 2 < parts.length && parts[index + 1] !== "";
    const start = isToken ? parts[index].search(/\beyJ[\w-]/) : -1;
    if (start < 0) kept.push(parts[index]);
    else {
      kept.push(parts[index].slice(0, start) + REDACTED);
      index += 2;
    }
  }
  return kept.join(".");
}

/** Replaces credentials before the host of URLs: the password, and in addresses of the web the user too, which may be a token. */
function redactUrlUsers(text: string): string {
  return text.replace(URL_WORD, redactUrlUser);
}

/** Reads up to the last `@`, because a password may hold an unencoded one, or a slash. */
function redactUrlUser(word: string): string {
  const end = word.lastIndexOf("@");
  if (end < 0) return word;
  const found = USER_AND_PASSWORD.exec(word);
  if (found === null || found.index + found[0].length > end) {
    return word.replace(TOKEN, `$1${REDACTED}`);
  }
  const isWeb = WEB_SCHEME.test(word.slice(0, found.index));
  const start = found.index + found[0].length - (isWeb ? found[1].length : 0);
  return word.slice(0, start) + REDACTED + word.slice(end);
}

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
const CERTAIN_TOKEN: RegExp =
  /(?:gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|[sr]k_(?:live|test)_|whsec_|shp(?:at|ca|pa|ss)_)[\w-]{16,}/g;
/** The id of an AWS access key, and a Twilio API key. */
const KEY_ID: RegExp =
  /(?<![A-Z0-9])(?:(?:AKIA|ASIA|ABIA|ACCA|AROA)[A-Z0-9]{16}(?![A-Z0-9])|(?<!\w)SK[0-9a-f]{32}\b)/g;
/** Tokens that are known by a part in the middle: a client secret of Azure, an API token of HCP, a bot of Telegram. */
const FORMED_TOKEN: RegExp =
  /(?<![\w~.-])(?:[\w~.-]{3}8Q~[\w~.-]{31}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60}|(?:bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35})(?![\w~-])/g;
/** Addresses to which everybody who knows them can post: Slack, Discord, Teams, Google Chat. */
const WEBHOOK_URL: RegExp =
  /(hooks\.slack\.com\/[a-z]{1,20}\/|discord(?:app)?\.com\/api\/(?:v[0-9]{1,2}\/)?webhooks\/|webhook\.office\.com\/|chat\.googleapis\.com\/v1\/spaces\/)[^\s"'<>]+/g;
const KEY_START = /-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/g;
const KEY_END = /-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}/g;

/**
 * Finds private keys in PEM, up to the last line of each or to the end of the text.
 *
 * @param text Any text.
 * @returns Start and end of each.
 */
function findPrivateKeys(text: string): [start: number, end: number][] {
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
