import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IANA's special-purpose registry: this machine, private and shared networks, documentation, multicast. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** All global addresses of IPv6 begin like this; those that stand for one of IPv4, mapped or translated, do not. */
const GLOBAL_IPV6 = ['2000::/3'];
/** Protocols' own, among them Teredo; documentation; 6to4, which contains an address of IPv4. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

function blocksOf(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const blocks = new BlockList();
  for (const subnet of subnets) {
    const [address = '', prefix] = subnet.split('/');
    blocks.addSubnet(address, Number(prefix), family);
  }
  return blocks;
}

const specialIpv4 = blocksOf(SPECIAL_IPV4, 'ipv4');
const globalIpv6 = blocksOf(GLOBAL_IPV6, 'ipv6');
const specialIpv6 = blocksOf(SPECIAL_IPV6, 'ipv6');

/** Whether an IP address is anything but one of the public internet. True for a text that is no IP address. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return specialIpv4.check(address, 'ipv4');
  if (family === 6) return !globalIpv6.check(address, 'ipv6') || specialIpv6.check(address, 'ipv6');
  return true;
}

/** `lookup` that fails for a name with any private address. A connection goes to what it returns, so no second answer can differ. */
export const publicLookup =
  (lookup: LookupFunction): LookupFunction =>
  (hostname, options, done) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      const addresses = Array.isArray(found) ? found : [];
      const [first] = addresses;
      if (first === undefined || addresses.some(({ address }) => isPrivateAddress(address)))
        return done(new Error(`${hostname} has an address in a private network`), []);
      if (options.all) return done(null, addresses);
      done(null, first.address, first.family);
    });
