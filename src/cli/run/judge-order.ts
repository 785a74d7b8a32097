import { count, plural } from '../../service/format.ts';
import type { OrderState } from '../../warehouse/ledgers/orders.ts';

/** What an order left behind, as far as it decides whether its command succeeded. */
interface Leftover {
  readonly kind: string;
  readonly state: OrderState;
  /** Records read, some of them several times, and how many could not be parsed. */
  readonly read: number;
  readonly unreadable: number;
  /** Rows of the list; null while parts of it were never read. */
  readonly listed: number | null;
  /** Of the resource, after the order. */
  readonly missing: number;
  readonly quarantined: number;
}

/** A sync fails if more than one of this many records could not be parsed: then something else than a few bad records is wrong. */
const ONE_IN = 10;

const SEE = 'See: sluice quarantine';

/** Why a command fails although its order is done; to follow the resource's name. Null if it does not. */
export function problemOf({ kind, state, read, unreadable, listed, missing, quarantined }: Leftover): string | null {
  if (state !== 'done') return null;
  // A list that is read in passes shows each record several times.
  const records = listed === null ? read : Math.min(read, listed + unreadable);
  if (kind === 'sync' && unreadable * ONE_IN > records)
    return `failed: ${count(unreadable)} of ${plural(records, 'record')} that were read could not be parsed and ${unreadable === 1 ? 'is' : 'are'} in quarantine. ${SEE}`;
  if (kind !== 'verify' || missing + quarantined === 0) return null;
  const rest = [
    ...(quarantined > 0 ? [`${plural(quarantined, 'record')} could not be parsed`] : []),
    ...(missing > 0 ? [`the deletion of ${plural(missing, 'missing row')} is not proven`] : []),
  ];
  return `still differs from the source: ${rest.join(', and ')}.${quarantined > 0 ? ` ${SEE}` : ''}`;
}
