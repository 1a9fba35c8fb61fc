// A HIP source that declares what the compiler needs of the HIP headers, so that no ROCm has to be installed.
#define __global__ __attribute__((global))
struct dim3 {
  unsigned x, y, z;
};
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void * = nullptr);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
__global__ void KERNEL(float *x, float a) { x[0] *= a; }
