/**
 * Parts of key names, in lower case without punctuation, whose values stay out of logs.
 * Each name matches in any spelling: `apiKey`, `api_key`, `X-Api-Key`.
 */
const SENSITIVE_PARTS = [
  "passw|passphrase|passcode|pwd|secret|token|authorization|cookie|credential|signature|originverify",
  "connectionstring|jwt|cardnumber|securitycode|mnemonic|seedphrase|codeverifier|clientassertion",
  "(?:access|account|api|auth|client|decryption|encryption|encrypt|hmac|host|kms|master|private)key",
  "(?:service|session|shared|signing|ssh|storage|symmetric|wrapping)key",
  "(?:2fa|auth|backup|confirmation|device|login|mfa|onetime|recovery|reset|sms|twofactor)codes?",
  "(?:verification|authorization|activation)codes?",
];
/** Names that count only when nothing stands before or after them. */
const SENSITIVE_NAMES = [
  "x?auth|bearer|pin|ssn|cvv|cvc|session|sessionid|(?:connect|php)?sid|phpsessid|samlresponse",
  "(?:db|database|user|admin|root|smtp|mail|ftp|redis|pg|mysql|postgres|rds)?pass",
  "[a-z0-9]{0,32}otp(?:code)?s?",
];
const SENSITIVE = new RegExp(`${SENSITIVE_PARTS.join("|")}|^(?:${SENSITIVE_NAMES.join("|")})$`);

/** Query parameters that carry a secret in URLs, where the bare name means something else. */
const SENSITIVE_PARAMETERS = /^(?:code|key|sig|state|ticket|otp|hash|assertion)$/;

const MAX_REMEMBERED = 1000;
const verdicts: Map<string, boolean> = new Map();

/**
 * Checks whether values under a key are kept out of logs, by the key's name.
 *
 * @param key A property's name, in any spelling.
 * @param more Further names, in lower case, that must match the whole name.
 */
export function isSensitiveKey(key: string, more?: ReadonlySet<string>): boolean {
  let verdict = verdicts.get(key);
  if (verdict === undefined) {
    verdict = SENSITIVE.test(key.toLowerCase().replace(/[^a-z0-9]/g, ""));
    if (verdicts.size >= MAX_REMEMBERED) verdicts.clear(); // names can come from a client
    verdicts.set(key, verdict);
  }
  return verdict || (more !== undefined && more.has(key.toLowerCase()));
}

/**
 * Checks whether the value of a URL's query parameter is kept out of logs. Beside the sensitive
 * keys, these are short names such as `code` and `sig` that carry credentials only in URLs.
 *
 * @param name The parameter's name.
 */
export function isSensitiveParameter(name: string): boolean {
  return SENSITIVE_PARAMETERS.test(name.toLowerCase()) || isSensitiveKey(name);
}
