import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

/** Key and certificate of a server with the authority that signed it, in PEM. */
export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
  /** Authority for a client's `ssl.ca`. */
  readonly ca: string;
}

// DER (X.690) consists of tag, length and content at every level.
function der(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const size = body.length;
  const longForm = size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  const length = size < 0x80 ? [size] : longForm;
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

function sequence(...items: Uint8Array[]): Buffer {
  return der(0x30, ...items);
}

function oid(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let more = arc >>> 7; more > 0; more >>>= 7) groups.unshift((more & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const TRUE = der(0x01, Buffer.from([0xff]));

function commonName(name: string): Buffer {
  return sequence(der(0x31, sequence(oid("2.5.4.3"), der(0x0c, Buffer.from(name)))));
}

/** Encodes a UTCTime. It has two digits of the year, which RFC 5280 reads as 1950 to 2049. */
function utcTime(date: Date): Buffer {
  return der(0x17, Buffer.from(date.toISOString().replace(/[-:T]/g, "").slice(2, 14) + "Z"));
}

function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] & 0x7f) | 0x40;
  return der(0x02, bytes);
}

function extension(id: string, critical: boolean, value: Uint8Array): Buffer {
  return sequence(oid(id), ...(critical ? [TRUE] : []), der(0x04, value));
}

function subjectAltName(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIP(host) === 4
      ? der(0x87, Buffer.from(host.split(".").map(Number)))
      : der(0x82, Buffer.from(host))
  );
  return extension("2.5.29.17", false, sequence(...names));
}

function pem(certificate: Uint8Array): string {
  const lines = Buffer.from(certificate).toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

interface CertificateParts {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly extensions: readonly Uint8Array[];
}

function certificate(parts: CertificateParts): string {
  const dayMs = 24 * 3600 * 1000;
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    serialNumber(),
    algorithm,
    commonName(parts.issuer),
    sequence(utcTime(new Date(Date.now() - dayMs)), utcTime(new Date(Date.now() + 365 * dayMs))),
    commonName(parts.subject),
    parts.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...parts.extensions)),
  );
  const signature = sign("sha256", toBeSigned, parts.signingKey);
  return pem(sequence(toBeSigned, algorithm, der(0x03, Buffer.from([0]), signature)));
}

/**
 * Creates a temporary authority and a server certificate signed by it (RFC 5280, ECDSA on P-256).
 *
 * Two certificates, because strict clients reject an authority's own certificate as a server's.
 *
 * @param hosts Names and IPv4 addresses of the certificate.
 * @returns Key and certificates in PEM, valid for a year.
 */
export function createServerCertificate(hosts: readonly string[]): ServerCertificate {
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const server = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = "distsql stand-in authority";
  const ca = certificate({
    subject: issuer,
    issuer,
    publicKey: authority.publicKey,
    signingKey: authority.privateKey,
    extensions: [
      extension("2.5.29.19", true, sequence(TRUE)),
      // only keyCertSign: bit 5 of the first byte, two bits unused
      extension("2.5.29.15", true, der(0x03, Buffer.from([2, 0x04]))),
    ],
  });
  const cert = certificate({
    subject: hosts[0],
    issuer,
    publicKey: server.publicKey,
    signingKey: authority.privateKey,
    extensions: [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.15", true, der(0x03, Buffer.from([7, 0x80]))),
      extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"))),
      subjectAltName(hosts),
    ],
  });
  return { key: server.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), cert, ca };
}
