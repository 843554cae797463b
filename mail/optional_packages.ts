/** Optional packages of the transports, with their supported versions. */
export const MAIL_PACKAGES = {
  "@aws-sdk/client-sesv2": "^3",
  "nodemailer": "^10.6.0",
} as const;
