import { MemoryRegistryStore } from '../../../src/store/memory/memory-registry-store.ts';
import { newTag } from '../../contract/harness.ts';
import { describeRegistryStore } from '../../contract/registry-store.contract.ts';

describeRegistryStore({ open: async () => new MemoryRegistryStore(newTag) });
