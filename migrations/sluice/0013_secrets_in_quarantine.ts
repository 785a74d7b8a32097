import { type Kysely, sql } from 'kysely';

const NAMES =
  '"[^"]{0,100}(pass_?-?wor[dt]|passwd|pwd|pass_?-?(hash|phrase|code|key)|secret|token|salt|jwt|(api|private|access|auth|encryption)_?-?key|otp|two_?-?factor|2fa|mfa|recovery_?-?code|backup_?-?code|card_?-?(number|no)|credit_?-?card|cvv|cvc)[^"]{0,100}"\\s*:';

/** Removes records that hold passwords, keys and the like: the next reading of their slices brings them back without. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`delete from sluice.quarantine where payload ~* ${NAMES} and (key like '?%' or resolved_at is not null)`.execute(
    db,
  );
  // With a key, a record may stand for a stored row.
  await sql`update sluice.quarantine set payload = '{}' where payload ~* ${NAMES}`.execute(db);
}
